"""Names and units that every part uses: responses and properties."""
