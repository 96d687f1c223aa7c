"""Mail in the forms of today, written for these tests: honest mail, and spam of the same forms."""
