/// The names of all settings, by which misspelt ones are recognised. docs/operations.md explains each; tests keep the
/// three lists (this one, that one, and what `SettingsReader` reads) the same.
enum SettingCatalog {
    /// Settings that stand in the file as they are.
    static let plain: Set<String> = [
        "database.socket", "database.host", "database.port", "database.name", "database.user",
        "allowedSignInTypes.Google", "allowedSignInTypes.Dropbox", "allowedSignInTypes.Microsoft",
        "allowedSignInTypes.Facebook", "allowedSignInTypes.AppleSignIn",
        "GoogleServerClientId", "googleClientIds", "FacebookClientId", "facebookGraphVersion", "MicrosoftClientId",
        "DropboxAppKey", "DropboxRedirectURI", "allowDropboxBareTokens",
        "appleSignIn.clientId", "appleSignIn.teamId", "appleSignIn.keyId", "appleSignIn.redirectURI",
        "awssns.accessKeyId", "awssns.region", "awssns.platformApplicationArn",
        "apns.teamId", "apns.keyId", "apns.topic", "apns.environment",
        "owningUserAccountCreation.initialFileName", "owningUserAccountCreation.initialFileContents",
        "maximumUploadBytes", "apiThreads", "transferThreads", "databaseConnections", "signInTokenTimeToLive",
        "maxNumberDeviceUUIDPerUser", "iOSMinimumClientVersion", "stagingLifetimeDays",
        "sealing.formerKeyFiles", "metrics.directory", "log.file", "log.level", "sandbox.connectTo", "sandbox.caFile",
    ]

    /// Settings that may stand in the file, and whose twin with `File` at the end names a file that holds the secret.
    static let secrets: Set<String> = [
        "database.password", "sealing.key", "GoogleServerClientSecret", "FacebookClientSecret", "MicrosoftClientSecret",
        "DropboxAppSecret", "appleSignIn.privateKey", "awssns.secretKey", "apns.privateKey", "fcm.serviceAccount",
    ]

    /// Names that the files of SyncServerII have for settings of this server.
    static let olderNames = [
        "db.host": "database.host", "db.user": "database.user", "db.password": "database.password",
        "db.database": "database.name",
        "mySQL.host": "database.host", "mySQL.user": "database.user", "mySQL.password": "database.password",
        "mySQL.database": "database.name",
        "GoogleServerSecret": "GoogleServerClientSecret",
    ]

    /// Settings of SyncServerII that are without effect here, with the reason.
    static let withoutEffect = [
        "port": "nginx listens, and has the port in its own configuration",
        "ssl.selfSigning": "nginx holds the certificate",
        "loadTestingCloudStorage": "for tests there is the sandbox",
    ]

    /// All names that a file may hold, nested or with dots.
    static let all: Set<String> = plain.union(secrets).union(secrets.map { $0 + "File" }).union(olderNames.keys)
        .union(withoutEffect.keys)

    /// The names of objects that hold settings, such as `database`.
    static let sections: Set<String> = Set(
        all.flatMap { name in
            let parts = name.split(separator: ".")
            return (0..<(parts.count - 1)).map { parts[0...$0].joined(separator: ".") }
        })
}
