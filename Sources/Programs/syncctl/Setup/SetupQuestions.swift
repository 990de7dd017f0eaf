import Configuration
import Operations
import Posix

/// Asks the person at the terminal for what the options leave open.
struct SetupQuestions {
    /// The input ended before all questions were answered.
    struct Unanswered: Error {}

    /// Typed-in secrets, by file name.
    private(set) var typed: [String: Secret] = [:]

    /// - Parameter asksForProviders: true if there is no configuration yet.
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
        guard asksForProviders else { return }
        if !answers.hasStorage { try askForAccounts(&answers) }
        if !answers.hasPush, answers.sandbox == nil { try askForPush(&answers) }
    }

    private mutating func askForAccounts(_ answers: inout SetupAnswers) throws {
        Output.write(["With which accounts may people sign in? An empty answer leaves a provider out."])
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

    private mutating func askForPush(_ answers: inout SetupAnswers) throws {
        Output.write(["How are phones told of changes? An empty answer leaves a service out."])
        let topic = try ask("Push through Apple: the app's bundle identifier: ")
        if !topic.isEmpty {
            answers.apns = SetupAnswers.APNs(
                teamID: try ask("Apple: the team's id: "), keyID: try ask("Apple: the id of the key for push: "),
                topic: topic, keySource: .file(try ask("Apple: file of the key for push (.p8): ")))
        }
        let account = try ask("Push through Firebase: file of the service account (JSON): ")
        if !account.isEmpty { answers.fcm = SetupAnswers.FCM(accountSource: .file(account)) }
        let keyID = try ask("Push through Amazon's SNS, as older servers have it: the access key's id: ")
        if !keyID.isEmpty {
            answers.sns = SetupAnswers.SNS(
                accessKeyID: keyID, region: try ask("Amazon: the region: "),
                platformApplicationARN: try ask("Amazon: the platform application's ARN: "),
                secretSource: try secret(.sns))
        }
    }

    private mutating func registration(_ question: String, _ secret: SecretName) throws -> SetupAnswers.Registration? {
        let id = try ask(question)
        guard !id.isEmpty else { return nil }
        return SetupAnswers.Registration(id: id, secretSource: try self.secret(secret))
    }

    private mutating func secret(_ name: SecretName) throws -> SetupAnswers.SecretSource {
        typed[name.rawValue] = Secret(try ask("  Its secret (is not shown): ", isHidden: true))
        return .typed(name.rawValue)
    }

    private func ask(_ question: String, isHidden: Bool = false) throws -> String {
        guard let line = Terminal.ask(question, isHidden: isHidden) else { throw Unanswered() }
        var answer = line[...]
        while answer.first == " " { answer.removeFirst() }
        while answer.last == " " { answer.removeLast() }
        return String(answer)
    }
}
