import Providers
import Store
import SyncProtocol
import Vault

/// A user about to be added, with all data obtained from providers.
struct NewUser {
    var accountType: AccountType
    var profile: SignInProfile
    var folderName: String?
    var credentials: StoredCredentials
    var earlierGrant: EarlierGrant

    /// Obtains the credentials of the caller's account from the provider.
    /// - Throws: ``AccountError``, ``StoreError``.
    static func obtained(
        by exchange: CredentialExchange, folderName: String?, in context: RequestContext
    ) throws -> NewUser {
        let earlierGrant = try EarlierGrant.found(of: exchange.person, in: context)
        return NewUser(
            accountType: exchange.presented.accountType, profile: exchange.person.profile, folderName: folderName,
            credentials: try exchange.firstCredentials(keeping: earlierGrant.credentials), earlierGrant: earlierGrant)
    }

    /// The folder name to store for an account: required if the storage has folders that people name, otherwise
    /// ignored.
    /// - Throws: ``EndpointError/missingParameter(_:)``.
    static func folderName(_ name: String?, for accountType: AccountType) throws -> String? {
        guard accountType.needsCloudFolderName else { return nil }
        guard let name, name.contains(where: { !$0.isWhitespace }) else {
            throw EndpointError.missingParameter(.cloudFolderName)
        }
        return name
    }

    /// Adds the user and their sealed credentials.
    /// - Parameter acceptsRetired: whether an account from which an identity has switched away may start over.
    /// - Throws: ``StoreError/alreadyExists(key:)`` if the account has a user; ``EndpointError/accountRetired(by:)``;
    ///   ``EarlierGrant/Lost``.
    func add(
        to session: inout StoreSession, acceptsRetired: Bool = false, in context: RequestContext
    ) throws -> UserID {
        let userID = try session.addUser(
            accountType, profile.providerUserID, displayName: profile.displayName, cloudFolderName: folderName,
            at: context.now)
        // Checked after the insertion, which also succeeds if a concurrent switch has just left this account.
        if let active = try session.activeAccountType(insteadOf: accountType, profile.providerUserID) {
            guard acceptsRetired else { throw EndpointError.accountRetired(by: active) }
            try session.detachRetiredAccount(accountType, profile.providerUserID)
        }
        try earlierGrant.keep(in: &session)
        // The user's number is bound into the record, so it can be sealed only now.
        try context.services.storage.vault.add(credentials, of: userID, in: &session)
        return userID
    }
}
