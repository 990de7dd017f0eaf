import ArgumentParser
import Operations
import Posix
import Providers
import SyncProtocol

/// Reads the credentials of a test account from a file, or asks for them.
struct TrialQuestions {
    private let company: Company
    private let offer: SignInOffer
    private let values: SettingValues
    private let redirectURI: String?
    private let known: Set<String>

    /// - Parameters:
    ///   - redirectURI: the one from the command line.
    ///   - known: the redirect URIs of the configuration.
    init(
        _ company: Company, _ offer: SignInOffer, _ values: SettingValues, redirectURI: String?, known: Set<String>
    ) {
        self.company = company
        self.offer = offer
        self.values = values
        self.redirectURI = redirectURI
        self.known = known
    }

    /// - Parameter file: the path of a file, `-` for standard input; `nil` to ask.
    func credentials(from file: String?) throws -> TrialCredentials {
        var credentials: TrialCredentials
        if let file {
            let bytes = try TextFile.read(file == "-" ? "/dev/stdin" : file)
            do { credentials = try TrialCredentials(json: bytes) } catch {
                throw ValidationError("\(file == "-" ? "standard input" : file) \(error.text).")
            }
        } else {
            credentials = try ask()
        }
        credentials.redirectURI = redirectURI ?? credentials.redirectURI
        return credentials
    }

    private func ask() throws -> TrialCredentials {
        var credentials = TrialCredentials()
        if let consent = offer.trial.consent {
            let redirect = redirectURI ?? (consent.showsCode ? nil : known.sorted().first)
            guard redirect != nil || consent.showsCode else {
                throw ValidationError(
                    "\(company.name) requires a redirect URI: register one, such as http://localhost/server, and name "
                        + "it with --redirect-uri.")
            }
            credentials.redirectURI = redirect
            Output.write([
                "Open this page as the test account, and agree:", "", consent.url(values, redirectURI: redirect), "",
                redirect == nil
                    ? "The page then shows a code."
                    : "The browser opens an address that contains code=…, even if nothing answers there.",
            ])
        }
        for question in offer.trial.questions {
            guard let answer = Terminal.ask(question.text, isHidden: question.isSecret) else {
                throw ValidationError("The input ended before all questions were answered.")
            }
            let text = question.answer == .authorizationCode ? Self.code(in: answer) : Self.trimmed(answer)
            guard !text.isEmpty || question.isOptional else { throw ValidationError("An answer is missing.") }
            credentials.set(question.answer, to: text)
        }
        return credentials
    }

    /// The code in the pasted text, which is the code itself or the whole address that the browser opened.
    static func code(in answer: String) -> String {
        let answer = trimmed(answer)
        guard let query = answer.split(separator: "?", maxSplits: 1).dropFirst().first else { return answer }
        let fields = query.prefix { $0 != "#" }.split(separator: "&")
        guard let field = fields.first(where: { $0.hasPrefix("code=") }) else { return answer }
        return PercentEncoding.decode(field.dropFirst(5)) ?? answer
    }

    private static func trimmed(_ text: String) -> String {
        var text = text[...]
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
