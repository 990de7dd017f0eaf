/// The part of the plan that is about nginx and the certificate.
extension SetupPlan {
    /// The fewest connections of an nginx process that suit a server on the open Internet; Debian's have 768.
    public static let leastConnections = 4_096

    /// - Returns: the site as it will be.
    mutating func planSite(
        _ answers: SetupAnswers, _ host: HostState
    ) throws(SiteText.UnknownTemplate) -> SitePresence {
        let wanted = try wantedSite(answers, host)
        var site = SitePresence(wanted)
        if host.site == nil {
            actions.append(.write(path: SetupPaths.site, text: wanted))
        } else if host.site == wanted {
            kept.append("\(SetupPaths.site) is there")
        } else if let present = host.site, !SiteText.isUnchanged(present, template: host.siteTemplate) {
            site = SitePresence(present)
            leaveAlone(site, answers, host)
        } else {
            actions.append(.write(path: SetupPaths.site, text: wanted))
        }
        if !host.isSiteEnabled { actions.append(.enableSite) }
        if answers.sandbox != nil, !host.isSandboxSiteEnabled {
            if host.hasSandboxSite {
                actions.append(.enableSandboxSite)
            } else {
                remaining.append("Install the sandbox (apt install syncsandbox), and run this setup again.")
            }
        }
        actions += [.check(.nginx), .reloadNginx]
        if let connections = host.nginxConnections, connections < Self.leastConnections {
            remaining.append(
                """
                Each of nginx's processes takes \(connections) connections: whoever opens as many keeps everybody out. \
                Before people use this server:
                  sed -i 's/worker_connections .*;/worker_connections \(Self.leastConnections);/' /etc/nginx/nginx.conf
                  sed -i '1i worker_rlimit_nofile \(2 * Self.leastConnections);' /etc/nginx/nginx.conf
                  nginx -t && systemctl reload nginx
                """)
        }
        return site
    }

    private func wantedSite(
        _ answers: SetupAnswers, _ host: HostState
    ) throws(SiteText.UnknownTemplate) -> String {
        if host.hasCertificate {
            return try SiteText.complete(
                host.siteTemplate, host: answers.host, certificate: answers.certificate,
                staples: host.certificateNamesResponder)
        }
        // Until the new host has its certificate, the former one is served.
        if let present = host.site, SitePresence(present).certificate != nil {
            return SiteText.adding(challengeFor: answers.host, to: present)
        }
        return SiteText.untilThereIsACertificate(host: answers.host)
    }

    private mutating func leaveAlone(_ site: SitePresence, _ answers: SetupAnswers, _ host: HostState) {
        kept.append("\(SetupPaths.site) is there, was changed by an administrator, and is left alone")
        let files = SiteText.files(of: answers.certificate, host: answers.host)
        if site.host != answers.host || site.certificate != answers.certificate {
            remaining.append(
                """
                \(SetupPaths.site) was changed by an administrator and is left alone. Put in there by hand, and \
                `nginx -t && systemctl reload nginx`:
                  server_name \(answers.host);
                  ssl_certificate \(files.certificate);
                  ssl_certificate_key \(files.key);
                """)
        }
        if !site.isMonitored {
            remaining.append(
                "\(SetupPaths.site) lacks what this host's own monitoring asks: add the line `include "
                    + "syncd/syncd-metrics.conf;` outside of all blocks, and `nginx -t && systemctl reload nginx`.")
        }
    }

    /// At the end, when the server runs: whoever looks for a certificate may not find one at once.
    mutating func planCertificate(_ answers: SetupAnswers, _ host: HostState) {
        guard !host.hasCertificate else { return }
        let files = SiteText.files(of: answers.certificate, host: answers.host)
        switch (answers.certificate, answers.certificateRequest) {
        case (.letsEncrypt, let request?): actions.append(.obtainCertificate(request))
        case (.letsEncrypt, nil):
            remaining.append(
                """
                Get a certificate: apt install certbot, and then run this setup again with --certbot; or, before it,
                  certbot certonly --webroot --webroot-path \(SetupPaths.webroot) --domain \(answers.host) \
                --deploy-hook 'systemctl reload nginx'
                """)
        case (.files, _):
            remaining.append(
                "Put the certificate into \(files.certificate) and its key into \(files.key), and run this setup again."
            )
        }
    }

    /// Asks the server at the end, as far as it has to answer.
    mutating func planChecks(_ answers: SetupAnswers, _ host: HostState, site: SitePresence) {
        let keepsMetrics = host.configuration.map { $0.keepsMetrics || !$0.hasMetrics } ?? true
        if site.isMonitored, keepsMetrics { actions.append(.check(.monitoring)) }
        if host.hasCertificate, site.host == answers.host { actions.append(.check(.health)) }
    }
}
