import Foundation
import SyncAccounts
import SyncClient
import Testing

@testable import SyncErrorSentences

@Suite("Sentences for errors")
struct ErrorSentencesTests {
    private let sentences = ErrorSentences(
        ErrorSentences.Remedies(signIn: "app in", createGroup: "app create", join: "app join", listGroups: "app groups")
    )

    /// The codes that a source file of the library declares.
    private static func codes(_ file: String) throws -> [String] {
        let url = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources/Client/\(file)")
        let text = try String(contentsOf: url, encoding: .utf8)
        return text.matches(of: #/static let \w+ = (?:Self|Code)\(rawValue: "(\w+)"\)/#).map { String($0.output.1) }
    }

    @Test("Each code of the library has a sentence, which differs from the code")
    func libraryCodes() throws {
        let codes = try Self.codes("SyncEngine/Values/SyncError.swift")
        #expect(codes.count > 40)
        for code in codes where code != SyncError.Code.requestRefused.rawValue {
            let error = SyncError(SyncError.Code(rawValue: code))
            let text = try #require(sentences.known(error), "\(code)")
            #expect(
                text.contains(" ") && text.contains(#/[;?:]/#) && !text.contains(code) && !text.hasSuffix("."),
                "\(text)")
            #expect(sentences.sentence(for: error) == "\(text) (\(code))")
        }
    }

    @Test("Each sign-in code has a sentence")
    func signInCodes() throws {
        let codes = try Self.codes("SyncAccounts/SignInError.swift")
        #expect(codes.count > 8)
        for code in codes {
            #expect(sentences.known(SignInError.Code(rawValue: code)) != nil, "\(code)")
        }
    }

    @Test("Each server error has a sentence with a remedy, followed by the server's code")
    func refusals() {
        for code in ErrorCode.allCases {
            var error = SyncError(.requestRefused)
            (error.status, error.serverCode) = (code.status, code.rawValue)
            let text = sentences.sentence(for: error)
            #expect(text.hasSuffix(" (\(code.rawValue))") && text.contains(#/[;:]/#), "\(text)")
            #expect(!text.contains("requestRefused"))
        }
    }

    @Test("Replies that no sync server sends, and codes of newer servers, are reported as such")
    func unknown() {
        var error = SyncError(.requestRefused)
        error.status = 404
        #expect(sentences.sentence(for: error).contains("not from a sync server"))
        error.status = 413
        #expect(
            sentences.sentence(for: error)
                == "larger than the server accepts; make it smaller, or leave it out (status 413)")
        error.serverCode = "of_tomorrow"
        #expect(sentences.sentence(for: error).hasSuffix("(of_tomorrow)"))
        #expect(sentences.sentence(for: SyncError(SyncError.Code(rawValue: "new"))).hasSuffix("(new)"))
    }

    @Test("Remedies are those of the program, and the error's details are included")
    func details() {
        #expect(sentences.sentence(for: SyncError(.signInRequired)).contains("app in"))
        #expect(sentences.notYetUser.contains("app create") && sentences.notYetUser.contains("app join"))
        var down = SyncError(.serverDown)
        down.message = "Back at ten, OK?"
        #expect(
            sentences.sentence(for: down)
                == "the server is closed at the moment and says \u{201C}Back at ten, OK?\u{201D}; pending changes will "
                + "be sent later (serverDown)")
        #expect(sentences.sentence(for: SyncError(.noUser)) == "\(sentences.notYetUser) (noUser)")
    }

    @Test("Only one line of printable text of a message is shown")
    func foreignMessage() {
        var down = SyncError(.serverDown)
        down.message = "Closed\u{1B}[2J\n\t until\u{202E} ten\u{0}"
        #expect(sentences.known(down)?.contains("\u{201C}Closed[2J until ten\u{201D}") == true)
        down.message = "\u{7}\n"
        #expect(sentences.known(down) == "the server is closed at the moment; pending changes will be sent later")
        down.message = String(repeating: "a", count: 100_000)
        #expect((sentences.known(down)?.count ?? 0) < 400)
    }

    @Test("The storage's owner determines who is asked to act")
    func storages() throws {
        for code in [SyncError.Code.storageFull, .storageUnauthorized] {
            var texts: Set<String> = []
            for storage in [SyncError.StorageOwner.own, .other(nil), .other(UserID(7))] {
                var error = SyncError(code)
                error.storage = storage
                let text = try #require(sentences.known(error))
                #expect(text.contains("ask that member") == (error.recovery == .askOwner), "\(text)")
                #expect(text.contains("your storage") == (storage == .own), "\(text)")
                texts.insert(text)
            }
            #expect(texts.count == 2)
        }
        var error = SyncError(.storageUnauthorized)
        error.storage = .own
        #expect(sentences.sentence(for: error).contains("app in"))
    }

    @Test(
        "The time of the next attempt is included if retrying helps",
        arguments: [
            (.seconds(1), "1 second"), (.milliseconds(29_500), "30 seconds"), (.seconds(600), "10 minutes"),
            (.seconds(86_400), "24 hours"),
        ] as [(Duration, String)])
    func pause(pause: Duration, text: String) {
        for code in [SyncError.Code.serverDown, .storageUnavailable, .requestRefused] {
            var error = SyncError(code)
            error.status = code == .requestRefused ? 429 : nil
            error.retryAfter = pause
            #expect(sentences.sentence(for: error).contains("later, in \(text) at the earliest ("), "\(error)")
        }
        var full = SyncError(.storageFull)
        (full.storage, full.retryAfter) = (.own, pause)
        #expect(!sentences.sentence(for: full).contains("earliest"))
    }

    @Test("The errors' localized descriptions are whole sentences")
    func localized() throws {
        var refused = SyncError(.requestRefused)
        (refused.status, refused.serverCode) = (400, ErrorCode.unknownMimeType.rawValue)
        let missing = SyncError(.fileManagerError, fileUUID: FileUUID())
        let errors: [any Error] = [
            SyncError(.networkError), SyncError(.noUser), refused, missing, SignInError(.denied),
            ServerConnectionError(.serverUnavailable, status: 503), CredentialRefreshFailure.unreachable,
        ]
        let texts = errors.map(\.localizedDescription)
        for text in texts {
            #expect(text.first?.isUppercase == true && text.hasSuffix(").") && text.contains(";"), "\(text)")
        }
        #expect(texts[0].hasPrefix("The server cannot be reached;") && texts[2].contains("files of this type"))
        #expect(texts[5].contains("closed"))
    }
}
