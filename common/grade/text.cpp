#include "grade/text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

namespace grade {
namespace {

constexpr std::size_t kMaxWidth = 100;
constexpr std::size_t kMinWidth = 40;     // a narrower terminal breaks lines itself; one word a line helps nobody
constexpr std::size_t kLeastBeside = 20;  // columns of text beside a name; with fewer it goes below it
constexpr std::size_t kBelow = 6;         // where it begins then

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream rest(text);
  for (std::string word; rest >> word;) words.push_back(word);
  return words;
}

}  // namespace

std::size_t standard_output_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0) return kMaxWidth;
  return std::clamp<std::size_t>(size.ws_col, kMinWidth, kMaxWidth);
}

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width) { return packed(words_of(text), width); }

std::vector<std::string> packed(const std::vector<std::string>& pieces, std::size_t width) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& piece) {
    if (lines.empty() || columns(lines.back()) + 1 + columns(piece) > width)
      lines.push_back(piece);
    else
      lines.back() += " " + piece;
  };
  for (const auto& piece : pieces)
    if (columns(piece) <= width)
      add(piece);
    else
      for (const auto& word : words_of(piece)) add(word);
  return lines;
}

std::string reflowed(const std::string& text, std::size_t width) {
  std::string result;
  std::string paragraph;
  const auto end_paragraph = [&] {
    for (const auto& line : wrapped(paragraph, width)) result += line + "\n";
    paragraph.clear();
  };
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool stays = line.empty() || line.starts_with("    ");
    if (stays || line.starts_with("- ")) end_paragraph();
    (stays ? result : paragraph) += line + (stays ? "\n" : " ");
  }
  end_paragraph();
  return result;
}

std::string hung(const std::string& line, std::size_t width) {
  if (columns(line) <= width) return line + "\n";
  const std::size_t indent = line.find_first_not_of(' ');
  const std::size_t gap = line.find("  ", indent);
  const std::size_t begin = gap == std::string::npos ? indent : line.find_first_not_of(' ', gap);
  std::size_t column = gap == std::string::npos ? indent + 2 : begin;
  std::string head = line.substr(0, begin);
  std::string result;
  if (column + kLeastBeside > width) {  // then below it
    if (gap != std::string::npos) result = line.substr(0, gap) + "\n";
    column = kBelow;
    head = std::string(column, ' ');
  }
  for (const auto& piece : wrapped(line.substr(begin), width - column)) {
    result += head + piece + "\n";
    head = std::string(column, ' ');
  }
  return result;
}

}  // namespace grade
