"""What changes mail or lessons: learn, move, withhold, undo, answer."""
