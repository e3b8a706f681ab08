"""The host's side of the RPC: frames, messages and the client. `docs/reference/protocol.md` defines every byte."""
