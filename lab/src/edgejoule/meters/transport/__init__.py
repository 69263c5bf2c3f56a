"""How a meter is read: small files, HTTP, lines, serial ports, streams."""
