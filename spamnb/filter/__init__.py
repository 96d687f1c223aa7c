"""The filter: a message's tokens and the counts give a verdict, and why."""
