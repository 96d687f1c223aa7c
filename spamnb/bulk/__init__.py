"""Work on many messages: finding, reading, learning and judging them on all cores."""
