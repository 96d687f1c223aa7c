"""What has happened: which messages were seen, judged, moved and learned, in one SQLite file."""
