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
    /// Where the account is with which they begin.
    package let firstProvider: Provider

    /// Names a person.
    package init(_ name: String, _ firstProvider: Provider) {
        self.name = name
        self.firstProvider = firstProvider
    }

    /// With which they begin.
    package var firstAccount: Account { Account(of: self, number: 0, at: firstProvider) }
    package var description: String { name }
}

/// An account of somebody's: the one with which they begin, or one to which they switched.
package struct Account: Hashable, Sendable, CustomStringConvertible {
    package let person: Person
    /// Tells the accounts of a person apart.
    package let number: Int
    package let provider: Provider

    /// Describes an account.
    package init(of person: Person, number: Int, at provider: Provider) {
        self.person = person
        self.number = number
        self.provider = provider
    }

    /// Whether it brings storage.
    package var bringsStorage: Bool { provider.storage != nil }
    package var description: String { "\(person)'s account \(number) (\(provider))" }
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
