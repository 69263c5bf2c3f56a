#include "cli.h"

int main(int argc, char** argv) { return edgejoule::driver::command_line(argc, argv); }
