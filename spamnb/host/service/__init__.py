"""The service of a mail host: one loop for thousands of users.

`served` gives it to the loop. `roster` knows who comes and who goes, `host_users` what is known of each, and `sweeps`
whose folders have changed unseen.
"""
