#include "grade/build.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "grade/child.h"
#include "server_flags.h"

namespace grade {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoServe = "server.cpp must define void serve(int listen_fd, const base::Limits& limits)";
constexpr std::size_t kShownLines = 15;  // of what the compiler said besides the first error

// The files of one built server: the program, what it was made of and how.
struct Files {
  explicit Files(const std::string& name) : binary(fmt::format("{}/servers/{}", kBuildDir, name)) {}
  std::string binary;
  std::string dependencies() const { return binary + ".d"; }
  std::string command() const { return binary + ".command"; }
};

std::vector<std::string> libraries() {
  return {fmt::format("{}/common/base/libserve_main.a", kBuildDir), fmt::format("{}/common/base/libbase.a", kBuildDir)};
}

std::vector<std::string> compile_command(const std::string& source, const std::vector<std::string>& more_flags) {
  std::vector<std::string> command = {kCompiler};
  command.insert(command.end(), std::begin(kServerFlags), std::end(kServerFlags));
  command.insert(command.end(), more_flags.begin(), more_flags.end());
  for (const std::string& word : {std::string("-fdiagnostics-color=never"), std::string("-include"),
                                  std::string(kServerPrefixHeader), fmt::format("-I{}/common", kSourceDir), source})
    command.push_back(word);
  for (const auto& library : libraries()) command.push_back(library);
  return command;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// What the compiler's dependency file names after "target:". Backslashes only join lines: none of our paths has blanks quoted by
// them, and a path that is misread does not exist, which means "build again".
std::vector<std::string> files_read(const std::string& dependency_file) {
  std::vector<std::string> files;
  std::istringstream words(read_text(dependency_file));
  for (std::string word; words >> word;)
    if (word != "\\" && !word.ends_with(':')) files.push_back(word);
  return files;
}

bool older_than(const std::string& path, fs::file_time_type time) {
  std::error_code missing;
  const auto changed = fs::last_write_time(fs::path(kSourceDir) / path, missing);
  return !missing && changed < time;
}

bool up_to_date(const Files& files, const std::string& command) {
  if (!fs::exists(files.binary) || read_text(files.command()) != command) return false;
  const auto made = fs::last_write_time(files.binary);
  std::vector<std::string> sources = files_read(files.dependencies());
  for (const auto& library : libraries()) sources.push_back(library);
  return sources.size() > libraries().size() &&
         std::all_of(sources.begin(), sources.end(), [made](const std::string& path) { return older_than(path, made); });
}

std::string trimmed(const std::string& output) {
  std::istringstream lines(output);
  std::string kept;
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    if (count < kShownLines) kept += line + "\n";
  if (count > kShownLines) kept += fmt::format("({} more lines from the compiler)\n", count - kShownLines);
  return kept;
}

// Others may grade the same file at this moment: each compiles to a name of its own and renames, so that a server that runs is
// never written to.
Build compile(const Files& files, std::vector<std::string> command, const std::string& source) {
  const std::string aside = fmt::format("{}.{}", files.binary, getpid());
  for (const std::string& word : {std::string("-MMD"), std::string("-MF"), aside + ".d", std::string("-o"), aside})
    command.push_back(word);
  const TemporaryFolder temporary;  // says so when there is no room, where the compiler would seem to refuse the student's file
  ChildSpec compiler;
  compiler.argv = command;
  compiler.environment = {{"TMPDIR", temporary.path()}};
  compiler.folder = kSourceDir;
  const Captured said = capture(compiler);
  Build build{said.exit_status == 0, files.binary, "", said.output};
  if (build.ok) {
    fs::rename(aside + ".d", files.dependencies());
    fs::rename(aside, files.binary);
    return build;
  }
  fs::remove(aside + ".d");
  build.first_error = first_error(said.output, source);
  if (build.first_error.empty()) build.first_error = fmt::format("{}: error: it does not compile", source);
  build.output = build.first_error.ends_with(kNoServe) ? "" : trimmed(said.output);  // the linker says it in more words
  return build;
}

}  // namespace

std::string shown_path(const std::string& path) {
  const auto relative = fs::path(path).lexically_relative(kSourceDir).string();
  return relative.empty() || relative.starts_with("..") ? path : relative;
}

std::string first_error(const std::string& output, const std::string& source) {
  static const std::regex diagnostic(R"(^([^: ][^:]*):(\d+):\d+: (.*)$)");
  static const std::regex undefined(R"(undefined reference to [`'](.*)')");
  std::string led_to_it;  // the student's line that made somebody else's template fail
  std::string from_outside;
  std::istringstream lines(output);
  std::smatch part;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, part, undefined) && from_outside.empty())
      from_outside = part[1].str().starts_with("serve(")
                         ? fmt::format("{}: error: {}", source, kNoServe)
                         : fmt::format("{}: error: {} is used or needed, but not defined", source, part[1].str());
    if (!std::regex_match(line, part, diagnostic)) continue;
    const std::string text = part[3];
    const bool own = part[1] == source;
    const bool error = text.starts_with("error:") || text.starts_with("fatal error:");
    // The same parameters and another result.
    const bool other_serve =
        text.find("ambiguating new declaration of") != std::string::npos && text.find(" serve(") != std::string::npos;
    if (own && error)
      return fmt::format("{}:{}: {}", source, part[2].str(), other_serve ? fmt::format("error: {}", kNoServe) : text);
    if (own && text.find("required from here") != std::string::npos && led_to_it.empty())
      led_to_it = fmt::format("{}:{}: ", source, part[2].str());
    if (!own && error && from_outside.empty()) from_outside = led_to_it.empty() ? line : led_to_it + text;
  }
  return from_outside;
}

Build build_server(const std::string& source, const std::string& name, const std::vector<std::string>& more_flags) {
  const Files files(name);
  const std::string shown = shown_path(fs::absolute(source).string());
  const auto command = compile_command(shown, more_flags);
  const std::string as_text = fmt::format("{}\n", fmt::join(command, "\n"));
  if (up_to_date(files, as_text)) return {true, files.binary, "", ""};
  fs::create_directories(fs::path(files.binary).parent_path());
  fs::remove(files.command());  // until the build is done, nothing is known of the program that lies there
  const Build build = compile(files, command, shown);
  if (build.ok) write_text(files.command(), as_text);
  return build;
}

}  // namespace grade
