"""Networks over entities: `rogue_net.RogueNet`, and its parts. Its options are declared in `options`."""
