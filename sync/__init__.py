"""What phone and cloud agree on: words, encoding, wire, releases and trust."""
