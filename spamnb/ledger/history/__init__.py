"""This host's own history: which messages are where, and what was judged, moved and learned."""
