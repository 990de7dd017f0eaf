public import FoundationEssentials
public import HTTPTransport
public import SyncProtocol

/// A company whose services the server uses. Each has a folder with its description and its adapters; ``all`` is the
/// only list of companies.
public struct Company: Sendable {
    /// The name as people know it.
    public let name: String
    /// The services that the adapters call.
    public let services: [ExternalService]
    public let signIn: SignInOffer?
    public let push: PushOffer?

    init(name: String, services: [ExternalService], signIn: SignInOffer? = nil, push: PushOffer? = nil) {
        self.name = name
        self.services = services
        self.signIn = signIn
        self.push = push
    }

    /// All companies.
    public static let all: [Company] = [.google, .dropbox, .microsoft, .facebook, .apple, .amazon, .webDAV, .s3]

    /// The services of all companies.
    public static let services = all.flatMap(\.services)
    /// The ways to sign in, of all companies.
    public static let signIns = all.compactMap(\.signIn)
    /// The ways to send notifications, of all companies.
    public static let pushes = all.compactMap(\.push)
}

/// Settings that contradict each other, each with the end of a sentence about the problem.
public typealias SettingObjections = @Sendable (SettingValues) -> [(setting: Setting, text: String)]

/// Sign-in with a company's accounts, and the storage that they include.
public struct SignInOffer: Sendable {
    /// Creates the account provider from the configuration; `now` is the database's clock.
    public typealias AccountMaker =
        @Sendable (_ values: SettingValues, _ now: @escaping @Sendable () -> Date) -> (any AccountProvider)?

    public let accountType: AccountType
    public let settings: [Setting]
    /// Finds settings that contradict each other.
    public let objections: SettingObjections
    /// Returns `nil` if the values cannot be used; in that case their settings have raised objections.
    public let makeAccount: AccountMaker
    /// The storage that the accounts include; `nil` for accounts without storage.
    public let storage: StorageOffer?
    /// How an operator tests the accounts.
    public let trial: TrialGuide

    init(
        _ accountType: AccountType, settings: [Setting], objections: @escaping SettingObjections = { _ in [] },
        trial: TrialGuide, storage: StorageOffer? = nil, account: @escaping AccountMaker
    ) {
        self.accountType = accountType
        self.settings = settings
        self.objections = objections
        self.trial = trial
        self.storage = storage
        makeAccount = account
    }

    /// The setting that enables it.
    public var enablingKey: String { "allowedSignInTypes.\(accountType.rawValue)" }
}

/// The storage of a company's accounts.
public struct StorageOffer: Sendable {
    /// Creates the storage from the relevant part of the configuration.
    public typealias Maker = @Sendable (_ values: SettingValues) -> any CloudProvider

    public let traits: StorageTraits
    public let make: Maker
}

/// The properties of a storage on which code for all storages depends. The initializer has no defaults: a new storage
/// states each of them.
public struct StorageTraits: Sendable {
    /// The hash that a provider computes of an object.
    public enum ProviderHash: Sendable {
        /// The checksum that clients compare; therefore it is known before an upload.
        case checkSum
        /// OneDrive's quickXorHash, which is known once all bytes have been read.
        case quickXor
    }

    /// The provider's own hash, in the storages that report one.
    public let providerHash: ProviderHash
    /// Whether the provider reports the checksum that clients compare; if not, the bytes must be read to compute that
    /// checksum.
    public let reportsCheckSum: Bool
    /// Whether the provider may report no hash for an object uploaded by others, although it reports one for ours. In
    /// that case, the bytes must be read to compute it.
    public let mayReportNoHash: Bool
    /// Whether the provider may report its hash only a while after an upload.
    public let reportsHashLate: Bool
    /// Whether the provider reports the free space of every storage, except that of some organizations.
    public let reportsFreeBytes: Bool
    /// Whether the storage is on a server that its owner names, which may be arbitrarily slow.
    public let isNamedByPerson: Bool
}

extension CloudStorageType {
    /// The traits that the company of this storage states.
    public var traits: StorageTraits {
        guard let traits = Self.statedTraits[self] else {
            preconditionFailure("no company in Company.all offers the storage \(rawValue)")
        }
        return traits
    }

    private static let statedTraits: [CloudStorageType: StorageTraits] = {
        var traits: [CloudStorageType: StorageTraits] = [:]
        for offer in Company.signIns {
            if let type = offer.accountType.cloudStorageType { traits[type] = offer.storage?.traits }
        }
        return traits
    }()
}

/// Push through a company's service.
public struct PushOffer: Sendable {
    /// Adds the service to the others; `now` returns seconds since 1970.
    public typealias Installer =
        @Sendable (_ values: SettingValues, inout PushServices, _ now: @escaping @Sendable () -> Int64) -> Void

    /// The configuration file's object that holds the settings of the service; its presence enables the service.
    public let section: String
    public let settings: [Setting]
    /// Finds settings that contradict each other.
    public let objections: SettingObjections
    /// Adds the service; if its secret is not among the values, as a service that another process runs.
    public let install: Installer

    init(
        section: String, settings: [Setting],
        objections: @escaping SettingObjections = { _ in [] }, install: @escaping Installer
    ) {
        self.section = section
        self.settings = settings
        self.objections = objections
        self.install = install
    }
}

/// How the operator obtains the credentials of a test account for `syncctl try`.
public struct TrialGuide: Sendable {
    /// A question to the operator.
    public struct Question: Sendable {
        /// The kind of answer, named as in a file of credentials.
        public enum Answer: Sendable, Equatable {
            case accessToken, authorizationCode
            /// A member of ``PresentedCredentials/accountDetails``.
            case detail(String)
        }

        public let answer: Answer
        public let text: String
        /// Whether the answer is a secret, which is not shown.
        public var isSecret: Bool { if case .detail = answer { false } else { true } }
        /// Whether the answer may be empty.
        public let isOptional: Bool

        init(_ answer: Answer, _ text: String, isOptional: Bool = false) {
            self.answer = answer
            self.text = text
            self.isOptional = isOptional
        }
    }

    /// A page on which the person grants the server access to their storage; it returns an authorization code (RFC
    /// 6749, section 4.1.1).
    public struct ConsentPage: Sendable {
        let address: String
        let clientID: Setting
        let scopes: [String]
        let parameters: [(name: String, value: String)]
        /// Whether the page displays the code itself if the request has no redirect URI.
        public let showsCode: Bool

        init(
            _ address: String, clientID: Setting, scopes: [String], parameters: [(name: String, value: String)] = [],
            showsCode: Bool = false
        ) {
            self.address = address
            self.clientID = clientID
            self.scopes = scopes
            self.parameters = parameters
            self.showsCode = showsCode
        }

        /// The page's address with all parameters that the provider requires.
        /// - Parameter redirectURI: one that is registered with the provider; `nil` if the page displays the code.
        public func url(_ values: SettingValues, redirectURI: String?) -> String {
            OutgoingRequest.url(
                address,
                [("client_id", values.text(clientID)), ("response_type", "code")]
                    + (redirectURI.map { [("redirect_uri", $0)] } ?? [])
                    + [("scope", scopes.joined(separator: " "))] + parameters)
        }
    }

    /// `nil` if there is no such page, or its codes do not identify the person
    /// (``AccountProvider/signIn(with:through:)``).
    public let consent: ConsentPage?
    public let questions: [Question]
    /// Whether the provider exchanges codes.
    public let hasCodes: Bool
    /// Whether access tokens expire and are renewed.
    public let renews: Bool

    /// Whether the provider reports for which app a token was issued.
    public let tokensNameTheirApp: Bool

    /// Accounts for which a code suffices.
    init(consent: ConsentPage, tokensNameTheirApp: Bool) {
        self.consent = consent
        self.tokensNameTheirApp = tokensNameTheirApp
        questions = [Question(.authorizationCode, "The code (hidden): ")]
        hasCodes = true
        renews = true
    }

    /// Accounts tested with a token, a password, or a key.
    init(
        _ questions: [Question], hasCodes: Bool = false, renews: Bool = false, tokensNameTheirApp: Bool = false
    ) {
        consent = nil
        self.tokensNameTheirApp = tokensNameTheirApp
        self.questions = questions
        self.hasCodes = hasCodes
        self.renews = renews
    }
}
