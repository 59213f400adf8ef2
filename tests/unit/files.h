// Folders and files that a test makes for itself, and golden files.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace files {

// Removed with its contents at the end of the test.
class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "lab-unit-XXXXXX").string()) {
    REQUIRE(mkdtemp(path_.data()) != nullptr);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

// Compares with tests/golden/<name>; LAB_UPDATE_GOLDEN=1 in the environment writes the file anew instead.
inline void check_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(LAB_GOLDEN_DIR) + "/" + name;
  if (std::getenv("LAB_UPDATE_GOLDEN") != nullptr) write(path, text);
  CHECK_MESSAGE(read(path) == text, name << " differs (LAB_UPDATE_GOLDEN=1 writes it anew); now:\n" << text);
}

}  // namespace files
