"""The mail of one mailbox: the files that appear there, what happens to them, and what a person leaves there.

`watched` compares the folders with the ledger, and hands each change on; `folders` lists and reads them. `arrivals`
looks at each file that appeared, after its time in the queue of `dwelling`; `facts` gathers what is known of it.
`performer` carries out decisions, and only `performer` writes them. `undecided` has files that wait for another file,
`untouched` mail that was kept or left alone, `sent` the mail that the person has written. `lock` keeps other services
away.
"""
