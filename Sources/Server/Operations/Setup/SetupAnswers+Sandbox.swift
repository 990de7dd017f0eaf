import Providers

extension SetupAnswers {
    /// Uses the apps that are registered in the sandbox; they are fixed and not secret. docs/sandbox.md lists them.
    public mutating func useSandbox() {
        settings = [:]
        for setting in Company.signIns.flatMap(\.settings) {
            guard let question = setting.question, let value = question.sandboxValue else { continue }
            settings[setting.key] =
                switch question.answer {
                case .typed: .text(value)
                case .list: .list([value])
                case .hidden, .file: .secret(.wellKnown(value))
                }
        }
        sandbox = Sandbox(connectTo: "127.0.0.1:9443", caFile: "/etc/syncsandbox/ca.pem")
    }
}
