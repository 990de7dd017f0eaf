/// A service that people sign in with.
package enum Provider: String, Sendable, CaseIterable {
    case google
    case dropbox
    case microsoft
    case facebook
    case apple

    /// The wire name of the storage that its accounts have; nil for accounts without storage.
    package var storage: String? {
        switch self {
        case .google: "Google"
        case .dropbox: "Dropbox"
        case .microsoft: "Microsoft"
        case .facebook, .apple: nil
        }
    }

    /// Whether a user with such an account must specify a folder.
    package var needsFolderName: Bool { self == .google }
}

/// A person with an account at a provider, who may or may not be a user.
package struct Person: Hashable, Sendable, CustomStringConvertible {
    /// The unique display name.
    package let name: String
    /// The provider of the person's first account.
    package let firstProvider: Provider

    /// Creates a person.
    package init(_ name: String, _ firstProvider: Provider) {
        self.name = name
        self.firstProvider = firstProvider
    }

    /// The person's first account.
    package var firstAccount: Account { Account(of: self, number: 0, at: firstProvider) }
    package var description: String { name }
}

/// An account of a person: their first one, or one that they switched to.
package struct Account: Hashable, Sendable, CustomStringConvertible {
    package let person: Person
    /// Distinguishes the accounts of a person.
    package let number: Int
    package let provider: Provider

    /// Creates an account.
    package init(of person: Person, number: Int, at provider: Provider) {
        self.person = person
        self.number = number
        self.provider = provider
    }

    /// Whether the account has storage.
    package var bringsStorage: Bool { provider.storage != nil }
    package var description: String { "\(person)'s account \(number) (\(provider))" }
}

/// A person on a device: the sender of a request, and the owner of a set of staged changes.
package struct Caller: Hashable, Sendable, CustomStringConvertible {
    package let person: Person
    package let device: String

    /// Creates a caller from a person and a device.
    package init(_ person: Person, on device: String) {
        self.person = person
        self.device = device
    }

    package var description: String { "\(person.name)@\(device.prefix(4))" }
}

/// A member's permission; each includes the previous ones.
package enum Permission: String, Comparable, Sendable, CaseIterable {
    case read
    case write
    case admin

    package static func < (left: Permission, right: Permission) -> Bool {
        allCases.firstIndex(of: left)! < allCases.firstIndex(of: right)!
    }
}
