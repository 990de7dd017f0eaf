/// A service that people sign in with.
package enum Provider: String, Sendable, CaseIterable {
    case google
    case dropbox
    case microsoft
    case facebook
    case apple

    /// The storage that its accounts bring, in the wire's word; nil for sharing accounts.
    package var storage: String? {
        switch self {
        case .google: "Google"
        case .dropbox: "Dropbox"
        case .microsoft: "Microsoft"
        case .facebook, .apple: nil
        }
    }

    /// Whether a user with such an account must name a folder.
    package var needsFolderName: Bool { self == .google }
}

/// Somebody with an account at a provider, whether or not they are a user at the moment.
package struct Person: Hashable, Sendable, CustomStringConvertible {
    /// The display name; no two people have the same.
    package let name: String
    /// Where the account is.
    package let provider: Provider

    /// Names a person.
    package init(_ name: String, _ provider: Provider) {
        self.name = name
        self.provider = provider
    }

    /// Whether the account brings storage.
    package var bringsStorage: Bool { provider.storage != nil }
    package var description: String { name }
}

/// One person at one device: who makes a request, and whose staged changes belong together.
package struct Caller: Hashable, Sendable, CustomStringConvertible {
    package let person: Person
    package let device: String

    /// Puts a person before a device.
    package init(_ person: Person, on device: String) {
        self.person = person
        self.device = device
    }

    package var description: String { "\(person.name)@\(device.prefix(4))" }
}

/// What a member may do; each includes those before it.
package enum Permission: String, Comparable, Sendable, CaseIterable {
    case read
    case write
    case admin

    package static func < (left: Permission, right: Permission) -> Bool {
        allCases.firstIndex(of: left)! < allCases.firstIndex(of: right)!
    }
}
