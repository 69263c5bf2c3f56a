// The card model's parameters that are no counts, by name (C++).
#pragma once

#include <utility>

#include "card.h"

inline constexpr std::pair<const char*, double card_parameters::*> card_figures[] = {
    {"read_request_ns", &card_parameters::read_request_ns},
    {"read_byte_ns", &card_parameters::read_byte_ns},
    {"write_request_ns", &card_parameters::write_request_ns},
    {"write_byte_ns", &card_parameters::write_byte_ns},
    {"write_random_ns", &card_parameters::write_random_ns},
    {"flush_ns", &card_parameters::flush_ns},
    {"read_w", &card_parameters::read_w},
    {"write_w", &card_parameters::write_w},
    {"idle_w", &card_parameters::idle_w}};
