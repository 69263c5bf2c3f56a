"""A recording made elsewhere, attached to stored runs."""
