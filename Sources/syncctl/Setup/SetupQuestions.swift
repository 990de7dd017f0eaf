import HostSetup
import Posix
import ServerConfiguration

/// Asks the person at the terminal for what the options leave open.
struct SetupQuestions {
    /// The input ended before all was answered.
    struct Unanswered: Error {}

    /// Secrets that were typed in, by the name of their file.
    private(set) var typed: [String: Secret] = [:]

    /// - Parameter asksForProviders: whether there is no configuration yet.
    mutating func complete(_ answers: inout SetupAnswers, asksForProviders: Bool) throws {
        if answers.host.isEmpty {
            answers.host = try ask("The name in DNS by which phones will reach this server (sync.example.com): ")
        }
        if answers.certificate == .letsEncrypt {
            let file = try ask("File of its certificate with chain; empty for one of Let's Encrypt: ")
            if !file.isEmpty {
                answers.certificate = .files(certificate: file, key: try ask("File of the certificate's key: "))
            }
        }
        guard asksForProviders, !answers.hasStorage else { return }
        print("With which accounts may people sign in? An empty answer leaves a provider out.")
        answers.google = try registration("Google: the server's OAuth client id: ", .google)
        if answers.google != nil {
            let ids = try ask("Google: client ids of the apps, if they are of another project, with blanks between: ")
            answers.googleAppClientIDs = ids.split(separator: " ").map(String.init)
        }
        answers.dropbox = try registration("Dropbox: the app key: ", .dropbox)
        answers.microsoft = try registration("Microsoft: the application id: ", .microsoft)
        answers.facebook = try registration("Facebook: the app id: ", .facebook)
        let clientID = try ask("Sign in with Apple: the app's identifier: ")
        if !clientID.isEmpty {
            answers.apple = SetupAnswers.Apple(
                clientID: clientID, teamID: try ask("Apple: the team's id: "),
                keyID: try ask("Apple: the key's id: "), keySource: .file(try ask("Apple: file of the key (.p8): ")))
        }
    }

    private mutating func registration(_ question: String, _ secret: SecretName) throws -> SetupAnswers.Registration? {
        let id = try ask(question)
        guard !id.isEmpty else { return nil }
        let text = try ask("  Its secret (is not shown): ", isHidden: true)
        typed[secret.rawValue] = Secret(text)
        return SetupAnswers.Registration(id: id, secretSource: .typed(secret.rawValue))
    }

    private func ask(_ question: String, isHidden: Bool = false) throws -> String {
        guard let line = Terminal.ask(question, isHidden: isHidden) else { throw Unanswered() }
        var answer = line[...]
        while answer.first == " " { answer.removeFirst() }
        while answer.last == " " { answer.removeLast() }
        return String(answer)
    }
}
