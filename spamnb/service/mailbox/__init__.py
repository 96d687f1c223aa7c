"""The mail of one mailbox: what appears there, what becomes of it, and what a person leaves there.

`watched` compares the folders with the ledger, and hands each change on; `folders` lists and reads them; `arrivals`
looks at each file that appeared. `undecided` has files that wait for another one, `untouched` what was kept or left
alone, `sent` the mail that the person has written. `lock` keeps other services away.
"""
