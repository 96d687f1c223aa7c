"""The spamd protocol: other programs ask the service for its verdict, and teach it, over a socket.

`protocol` reads requests and writes answers, and is pure; `requests` does what each command asks for, `report` writes
why; `ledgers` says whose ledger that needs, and `recorder` waits for it where others have it; `server` reads all
connections; `listeners` opens what they come from, and `peers` says who they are.
"""
