extension SetupAnswers {
    /// Uses the apps that are registered in the sandbox: fixed, and not secret. docs/sandbox.md lists them.
    public mutating func useSandbox() {
        google = Registration(
            id: "1234567890-server.apps.googleusercontent.com", secretSource: .wellKnown("sandbox-google-secret"))
        googleAppClientIDs = ["1234567890-ios.apps.googleusercontent.com"]
        dropbox = Registration(id: "sandboxdropboxkey", secretSource: .wellKnown("sandbox-dropbox-secret"))
        microsoft = Registration(
            id: "5a0d31c6-0b7e-4f5d-9c1e-2f6a7b8c9d0e", secretSource: .wellKnown("sandbox~microsoft+secret/="))
        facebook = Registration(id: "123456789012345", secretSource: .wellKnown("sandbox-facebook-secret"))
        apple = nil
        sandbox = Sandbox(connectTo: "127.0.0.1:9443", caFile: "/etc/syncsandbox/ca.pem")
    }
}
