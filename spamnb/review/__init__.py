"""Choose what to ask a person: mail that is filed wrongly, and mail whose label teaches most."""
