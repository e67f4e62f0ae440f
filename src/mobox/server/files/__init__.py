"""Files of messages: routes, addresses, and the bodies of chat requests that contain them."""
