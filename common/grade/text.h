// Text at the width of a terminal: breaking lines between words.
// Not for: what is said (printer.h, and cli's commands).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace grade {

// Columns for text on standard output: the terminal's, 40 to 100; 100 where there is no terminal.
std::size_t standard_output_width();

// Characters, not bytes.
std::size_t columns(std::string_view text);

// Breaks at blanks so that no line has more than `width` columns (a longer word stands alone).
std::vector<std::string> wrapped(const std::string& text, std::size_t width);
// The same between pieces: one that fits on a line, such as a command, is not broken.
std::vector<std::string> packed(const std::vector<std::string>& pieces, std::size_t width);

// Paragraphs and list items ("- ") are wrapped anew; blank lines stay, and so do indented ones: code.
std::string reflowed(const std::string& text, std::size_t width);

// A line that is too long goes on below itself: behind its first gap of two blanks ("  name    what it is"), else indented by two
// more.
std::string hung(const std::string& line, std::size_t width);

}  // namespace grade
