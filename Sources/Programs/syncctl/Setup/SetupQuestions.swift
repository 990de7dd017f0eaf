import Operations
import Posix
import Providers

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
        for offer in Company.signIns { try ask(offer.settings, &answers) }
    }

    private mutating func askForPush(_ answers: inout SetupAnswers) throws {
        Output.write(["How are phones told of changes? An empty answer leaves a service out."])
        for offer in Company.pushes { try ask(offer.settings, &answers) }
    }

    /// Asks for the settings of one service, unless the first answer is empty.
    private mutating func ask(_ settings: [Setting], _ answers: inout SetupAnswers) throws {
        var isFirst = true
        for setting in settings {
            guard let question = setting.question else { continue }
            if case .hidden(let fileName) = question.answer {
                typed[fileName] = Secret(try ask(question.text, isHidden: true))
                answers.settings[setting.key] = .secret(.typed(fileName))
                continue
            }
            let text = try ask(question.text)
            if isFirst, text.isEmpty { return }
            isFirst = false
            answers.settings[setting.key] = SetupAnswers.Answer(text, to: question, givenBy: setting.key)
        }
    }

    private func ask(_ question: String, isHidden: Bool = false) throws -> String {
        guard let line = Terminal.ask(question, isHidden: isHidden) else { throw Unanswered() }
        var answer = line[...]
        while answer.first == " " { answer.removeFirst() }
        while answer.last == " " { answer.removeLast() }
        return String(answer)
    }
}
