"""The elements of HTML by what they do to the text in and around them."""

# Elements that break a word, unless a style says otherwise: `a<br>b` and `a<td>b` are two, `V<b></b>iagra` is one.
BREAKING = frozenset(
    """address article aside blockquote body br button canvas caption center col colgroup dd details dialog dir div dl
    dt embed fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html iframe image img
    input legend li listing main marquee menu meter nav ol optgroup option p plaintext pre progress search section
    select summary svg table tbody td textarea tfoot th thead tr ul video xmp""".split()  # noqa: SIM905 - names are easier to read without quotes
)
OF_TABLE = frozenset({"caption", "col", "colgroup", "tbody", "td", "tfoot", "th", "thead", "tr"})  # nothing outside it
BOXES = frozenset({"canvas", "embed", "iframe", "image", "img", "input", "svg", "video"})  # may be too thin to be seen
PERHAPS_APART = OF_TABLE | BOXES
# Raw text, which no program shows. But browsers read the tags in it inside <svg>, <math> or <select>, and a style such
# as `display: block` shows all of it.
RAW = frozenset({"script", "style", "title"})
# Whether text in these is visible depends on the program, and on the reader, who may have to open the element. Some end
# earlier for a browser than for libxml2.
SEEN_BY_SOME = frozenset(
    {"audio", "canvas", "datalist", "details", "dialog", "noframes", "rp", "rt", "template", "video"}
)
# In these, and behind them if they end elsewhere, that text may be none, and a style sheet may be none for a browser.
NOT_RAW_IN = frozenset(
    """frameset iframe math noembed noframes noscript plaintext select svg template textarea xmp""".split()  # noqa: SIM905
)
# One of these ends the one before; for libxml2 it is in it.
ENDING = frozenset({"button", "nobr"})
# Elements without an end, which libxml2 does not know: what follows is not in them.
EMPTY = frozenset({"bgsound", "embed", "image", "keygen", "source", "track", "wbr"})
SPECIAL = RAW | SEEN_BY_SOME | ENDING | EMPTY
# On a page with other elements than these no text is hidden for certain.
PLAIN = frozenset(
    """a abbr acronym address area article aside b base basefont bdi bdo big blockquote body br caption center cite code
    col colgroup data dd del dfn dir div dl dt em fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 head
    header hr html i img input ins kbd label legend li main map mark menu meta nav nobr ol p picture pre q s samp
    script section small source span strike strong style sub summary sup table tbody td tfoot th thead time title tr tt
    u ul var wbr""".split()  # noqa: SIM905
)
MEANINGFUL = frozenset(
    "form input iframe script object embed applet map meta button select textarea video svg".split()  # noqa: SIM905
)
FRAMES = frozenset({"embed", "frame", "iframe", "object"})
TELLING = FRAMES | {"a", "area", "form", "image", "img", "input", "link", "meta", "option", "textarea"}  # by attributes
