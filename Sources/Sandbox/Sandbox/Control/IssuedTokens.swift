extension SandboxServer {
    /// Records an issued text that must not appear in any log, and returns it.
    func issued(_ text: String) -> String {
        _ = withState { $0.unkeptTokens.insert(text) }
        return text
    }

    /// Every access token, refresh token, authorization code and signed text that was issued since the start, and those
    /// that accounts already held.
    var issuedTokens: Set<String> {
        withState { state in
            state.unkeptTokens.union(state.owners.keys).union(state.serviceTokens.keys)
        }
    }
}
