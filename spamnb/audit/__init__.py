"""What a person is to be asked: which learned mail may be filed wrongly, and which answers would teach most."""
