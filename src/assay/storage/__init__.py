"""What keeps a journal small and verifiable: checksums, key sets, packed texts, how far an attempt got."""
