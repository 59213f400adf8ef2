// Texts that are compared with a file in tests/golden.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "files.h"

namespace golden {

// Compares with tests/golden/<name>; LAB_UPDATE_GOLDEN=1 in the environment writes the file anew instead.
inline void check(const std::string& name, const std::string& text) {
  const auto here = std::filesystem::path(__FILE__).parent_path();
  const std::string path = (here / "../../golden" / name).lexically_normal().string();
  if (std::getenv("LAB_UPDATE_GOLDEN") != nullptr) files::write(path, text);
  CHECK_MESSAGE(files::read(path) == text, name << " differs (LAB_UPDATE_GOLDEN=1 writes it anew); now:\n" << text);
}

}  // namespace golden
