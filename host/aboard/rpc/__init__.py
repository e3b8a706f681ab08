"""The host's side of the RPC: frames, messages and the client. `docs/protocol.md` defines every byte."""
