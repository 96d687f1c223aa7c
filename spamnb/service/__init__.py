"""The service watches, judges, moves and learns; with `web` it is the only package that starts threads."""
