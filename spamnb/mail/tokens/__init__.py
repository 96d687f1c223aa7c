"""Turn a `Message` into tokens."""

from spamnb.base.lazy_module import at_first_use

at_first_use("soupsieve")  # BeautifulSoup imports its selectors, which takes a third of its time; nothing here selects
