import Operations
import Posix
import Providers
import SyncProtocol

/// Checks each answer when it is given: its form, and the files that it names.
struct SetupCheck {
    /// The prefix of the paths of certificate and key.
    let root: String
    var secrets: SetupSecrets

    /// Objections to a certificate and its key, as sentences.
    /// - Parameters:
    ///   - key: `nil` to check only the certificate.
    ///   - host: the name that it must be for; empty if unknown.
    func objections(toCertificate certificate: String, key: String?, host: String) -> [String] {
        for path in [certificate, key].compactMap(\.self) {
            if let objection = SetupAnswers.objection(toSitePath: path) {
                return ["certificate and key \(objection); \"\(path)\" is not"]
            }
        }
        let files = NginxSite.Certificate(certificate: root + certificate, key: key.map { root + $0 })
        return CertificateCheck.examine(files, names: host.isEmpty ? [] : [host])
            .filter { $0.code != nil && $0.code != .certificateExpiring }.map(\.finding)
    }

    /// The objection to the answer for a setting, as a sentence, or `nil`.
    /// - Parameter giver: the name by which the operator knows the answer.
    func objection(to answer: SetupAnswers.Answer, about setting: Setting, givenBy giver: String) -> String? {
        switch answer {
        case .text(let text): return objection(to: text, about: setting).map { "\(giver): \(text) \($0)" }
        case .list(let texts):
            let first = texts.lazy.compactMap { text in objection(to: text, about: setting).map { "\(text) \($0)" } }
                .first
            return first.map { "\(giver): \($0)" }
        case .secret(nil): return nil
        case .secret(let source?):
            do throws(SetupFailure) {
                guard let objection = setting.objection(try secrets.read(source).value) else { return nil }
                if case .file(let path, _) = source {
                    return "\(giver) names \(path), which cannot be used: \(objection)"
                }
                return "\(giver) cannot be used: \(objection)"
            } catch {
                return error.sentence
            }
        }
    }

    private func objection(to text: String, about setting: Setting) -> String? {
        text.isEmpty ? "must not be empty" : setting.objection(toAnswer: text)
    }

    /// All objections to the answers, as sentences.
    /// - Parameter givers: the names by which the operator knows the answers: options, by the keys of settings.
    func objections(to answers: SetupAnswers, givenBy givers: [String: String]) -> [String] {
        var objections: [String] = []
        var host = answers.host
        if !host.isEmpty, let objection = SetupAnswers.objection(toHost: host) {
            objections.append("--host: \(host) \(objection)")
            host = ""
        }
        if case .files(let certificate, let key) = answers.certificate {
            objections += self.objections(toCertificate: certificate, key: key, host: host).map {
                "--certificate, --key: \($0)"
            }
        }
        guard answers.sandbox == nil else { return objections }
        for settings in Company.signIns.map(\.settings) + Company.pushes.map(\.settings) {
            for setting in settings {
                guard let answer = answers.settings[setting.key] else { continue }
                let giver = givers[setting.key] ?? setting.key
                if let objection = objection(to: answer, about: setting, givenBy: giver) {
                    objections.append(objection)
                }
            }
        }
        for offer in Company.pushes where answers.has(offer.settings) {
            var values = SettingValues()
            for setting in offer.settings {
                if case .text(let text)? = answers.settings[setting.key] { values.set(setting, to: text) }
            }
            objections += offer.objections(values).map { "\(givers[$0.setting.key] ?? $0.setting.key) \($0.text)" }
        }
        return objections
    }
}

/// Reads the secrets that the answers refer to, from any source.
struct SetupSecrets {
    /// Typed in, or read from a predecessor's configuration; by the name of the file for each.
    var typed: [String: Secret] = [:]

    /// - Throws: ``SetupFailure`` if the secret is missing or empty.
    func read(_ source: SetupAnswers.SecretSource) throws(SetupFailure) -> Secret {
        switch source {
        case .wellKnown(let text): return Secret(text)
        case .typed(let name):
            guard let secret = typed[name], !secret.value.isEmpty else {
                throw SetupFailure("no secret was entered for \(name)")
            }
            return secret
        case .file(let path, let giver):
            let file = giver.map { "\($0) names \(path), which" } ?? path
            let bytes: [UInt8]
            do { bytes = try TextFile.read(path) } catch { throw SetupFailure("\(file) cannot be read: \(error)") }
            let secret = Secret(Self.text(bytes))
            guard !secret.value.isEmpty else { throw SetupFailure("\(file) is empty") }
            return secret
        }
    }

    /// The text of a secret's file, without its line end.
    static func text(_ bytes: [UInt8]) -> String {
        var bytes = bytes
        while let last = bytes.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
