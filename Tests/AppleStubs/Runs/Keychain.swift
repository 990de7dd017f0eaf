// Runs KeychainItem against the stub's keychain; scripts/check-apple compiles both into one program.
import Foundation
import Security

func expect(_ condition: Bool, _ sentence: String) {
    guard condition else {
        print("not true: \(sentence)")
        exit(1)
    }
}

@main struct KeychainRun {
    static func main() throws {
        let item = KeychainItem(service: "sync", account: "ada", accessGroup: "group.album")
        expect(try item.load() == nil, "an item that was never saved is absent")
        try item.save(Data("first".utf8))
        try item.save(Data("second".utf8))
        expect(try item.load() == Data("second".utf8), "a saved secret replaces the former one")
        expect(
            try KeychainItem(service: "sync", account: "ada", accessGroup: nil).load() == nil,
            "another access group has its own items")
        expect(
            try KeychainItem(service: "sync", account: "bob", accessGroup: "group.album").load() == nil,
            "another account has its own items")
        try item.remove()
        try item.remove()
        expect(try item.load() == nil, "a removed item is absent")

        forceStatus(errSecInteractionNotAllowed)
        for call in [{ _ = try item.load() }, { try item.save(Data()) }, { try item.remove() }] {
            do {
                try call()
                expect(false, "a locked keychain throws")
            } catch let error as KeychainError { expect(error.isLocked, "it is reported as locked") }
        }
    }
}
