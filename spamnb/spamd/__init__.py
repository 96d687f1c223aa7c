"""The spamd protocol: other programs ask the service for its verdict, and teach it, over a socket.

`protocol` reads requests and writes answers, and is pure. `requests` does what each command asks for, and `report`
writes the reasons. `ledgers` finds the ledger for a request, and `recorder` waits for it if others hold it. `server`
reads all connections, `listeners` opens the sockets, and `peers` says who may ask.
"""
