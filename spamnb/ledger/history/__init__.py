"""This host's own: which messages are where, what was judged, moved and learned."""
