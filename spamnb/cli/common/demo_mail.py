"""The four messages of the demo. The filter is right about two, and wrong about two."""

FRIEND = b"""\
From: Anna Berg <anna@friends.example>
To: you@home.example
Subject: Sunday walk
Date: Mon, 12 Jan 2026 18:03:11 +0000
Message-ID: <walk.1@friends.example>

Hello,

Shall we walk along the river on Sunday, at noon? Farid comes too, and brings the
photos of our hike. Please bring your map.

Best wishes
Anna
"""
WATCHES = b"""\
From: Royal Watches <offer@best-deals77.example>
To: you@home.example
Subject: Replica watches 80% OFF, today only!!!
Date: Mon, 12 Jan 2026 18:04:52 +0000
Message-ID: <w.77@best-deals77.example>

Dear winner,

Luxury replica watches at the lowest price: $49.95. Limited offer!
Order now, without prescription: http://best-deals77.example/order
"""
SHOP = b"""\
From: Seeds and Pots <orders@seedsandpots.example>
To: you@home.example
Subject: Your order 2041: tomato seeds
Date: Mon, 12 Jan 2026 18:06:20 +0000
Message-ID: <order.2041@seedsandpots.example>

Thank you for your order:

3 bags of tomato seeds, price $4.99 each, with free delivery.
Visit http://seedsandpots.example/order to follow your parcel, and
http://seedsandpots.example/offer for the best price of the week!
"""
FALSE_FRIEND = b"""\
From: Carla <carla.k@post.example>
To: you@home.example
Subject: Re: the budget draft
Date: Mon, 12 Jan 2026 18:09:37 +0000
Message-ID: <b.2@post.example>

Hello,

Thanks, I have read the draft. The rest is in the shared folder: please sign in
with the password of your bank, and see page 3.

See you Friday
Carla
"""
