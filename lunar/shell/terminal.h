// Lines of statements: from a text, a file, or a person.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace shell {

// The next line without its end; nothing at the end. continued: it belongs to a statement that has begun.
// Throws Interrupted.
using Lines = std::function<std::optional<std::string>(bool continued)>;

Lines lines_of_text(std::string text);
// Throws Failure. "-" is standard input.
Lines lines_of_file(const std::string& path);
// With a prompt, and where libedit is there, with editing and a history in ~/.lunar_history.
Lines lines_of_terminal();

}  // namespace shell
