// Exists so that TccPch has a source: the precompiled header is what it is for.
